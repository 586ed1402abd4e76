// Columns of the page of one tool.

export const latencyColumns = { from_ms: 'number', to_ms: 'number', calls: 'whole', failed: 'whole' } as const;

export const slowCallColumns = {
  trajectory_id: 'text',
  attempt: 'whole',
  turn: 'whole',
  worker_id: 'text',
  status: 'text',
  error_type: 'text',
  ms: 'number',
  arguments: 'text',
  occurred_at: 'time',
} as const;

export const toolErrorTypeColumns = { status: 'text', error_type: 'text', calls: 'whole', ms_p50: 'number', last_at: 'time' } as const;
