-- Room on each page keeps heartbeats heap-only; a queue's dead rows are vacuumed by their number, not by a share of the table.
ALTER TABLE "dispatch_queue" SET (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.02,
  autovacuum_analyze_threshold = 500
);--> statement-breakpoint
-- History only grows at its end and loses its oldest rows: insert-driven vacuum keeps the visibility map current.
ALTER TABLE "dispatch_history" SET (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);
