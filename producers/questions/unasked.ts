// The event fields of a question that was neither tested nor reviewed.

/** No closed-book answers, no human review. */
export const unasked = { closed_book_right: -1, closed_book_asked: 0, drawn_for_review: false } as const;
