// What an event says of a question that nobody was asked about.

/** No answers without tools, no human. */
export const unasked = { closed_book_right: -1, closed_book_asked: 0, drawn_for_review: false } as const;
