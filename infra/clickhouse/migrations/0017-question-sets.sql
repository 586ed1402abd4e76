-- What humans and closed books say of questions, and question sets as they are: each question once, without those that a
-- human rejected.

alter table questions
  add column closed_book_right Int32 default -1 after history,
  add column closed_book_asked Int32 default 0 after closed_book_right,
  add column drawn_for_review Bool default has(gates, 'human_review') and position(event_id, '/review/') = 0 after closed_book_asked,
  add column review LowCardinality(String) default extract(event_id, '/review/[^/]+/(accept|reject|comment)$') after drawn_for_review;

-- Everything that humans said, each once, in the order in which it counts: by _partition and _offset.
create view question_reviews as
select
  dataset,
  question_id,
  review,
  gate_details[indexOf(gates, 'human_review')] as detail,
  occurred_at,
  event_id,
  _partition,
  _offset
from questions
where review != ''
order by _partition, _offset
limit 1 by event_id;

-- Every verdict of every gate on every candidate, each once. Verdicts of humans are in question_reviews.
create view question_gates as
select
  dataset,
  question_id,
  event_id as candidate_id,
  accepted,
  gate,
  passed,
  detail,
  occurred_at
from (
  select *
  from questions
  where review = ''
  order by _partition, _offset
  limit 1 by event_id
)
array join gates as gate, gates_passed as passed, gate_details as detail
where gate not in ('human_review', 'closed_book');

-- One row a question that the gates accepted, as it was written last; in_set says whether it is trained and evaluated on.
create view question_sets as
select
  dataset,
  split,
  question_id,
  cast(verdict != 'reject' as Bool) as in_set,
  verdict,
  question,
  answers,
  aug_answers,
  hops,
  kind,
  closed_book_right,
  closed_book_asked,
  drawn_for_review,
  occurred_at
from (
  select * from questions where accepted and review = '' order by _partition desc, _offset desc limit 1 by dataset, question_id
) as written
left join (
  select dataset, question_id, argMax(review, (_partition, _offset)) as verdict
  from questions
  where review in ('accept', 'reject')
  group by dataset, question_id
) as judged
using (dataset, question_id);
