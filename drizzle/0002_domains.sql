-- A domain's CHECK is parsed once per session and evaluated for assigned columns only; a table's is parsed by each statement that writes.
CREATE DOMAIN "dispatch_orchestrator_id" AS text CONSTRAINT "dispatch_orchestrator_id_length" CHECK (char_length(VALUE) BETWEEN 1 AND 200);--> statement-breakpoint
CREATE DOMAIN "dispatch_machine_id" AS text CONSTRAINT "dispatch_machine_id_length" CHECK (char_length(VALUE) BETWEEN 1 AND 200);--> statement-breakpoint
CREATE DOMAIN "dispatch_dedupe_key" AS text CONSTRAINT "dispatch_dedupe_key_length" CHECK (char_length(VALUE) BETWEEN 1 AND 256);--> statement-breakpoint
CREATE DOMAIN "dispatch_progress_note" AS text CONSTRAINT "dispatch_progress_note_length" CHECK (char_length(VALUE) <= 1000);--> statement-breakpoint
CREATE DOMAIN "dispatch_error" AS text CONSTRAINT "dispatch_error_length" CHECK (char_length(VALUE) <= 10000);--> statement-breakpoint
CREATE DOMAIN "dispatch_priority" AS smallint CONSTRAINT "dispatch_priority_range" CHECK (VALUE BETWEEN -1000 AND 1000);--> statement-breakpoint
CREATE DOMAIN "dispatch_attempts" AS integer CONSTRAINT "dispatch_attempts_range" CHECK (VALUE BETWEEN 0 AND 1000000);--> statement-breakpoint
CREATE DOMAIN "dispatch_max_attempts" AS integer CONSTRAINT "dispatch_max_attempts_range" CHECK (VALUE BETWEEN 1 AND 100);--> statement-breakpoint
CREATE DOMAIN "dispatch_progress" AS smallint CONSTRAINT "dispatch_progress_range" CHECK (VALUE BETWEEN 0 AND 100);--> statement-breakpoint
CREATE DOMAIN "dispatch_lease_ms" AS integer CONSTRAINT "dispatch_lease_ms_range" CHECK (VALUE BETWEEN 1000 AND 86400000);--> statement-breakpoint
CREATE DOMAIN "dispatch_attempt_log" AS jsonb CONSTRAINT "dispatch_attempt_log_is_list" CHECK (jsonb_typeof(VALUE) = 'array');--> statement-breakpoint
-- One ALTER per table, which is then rewritten once.
ALTER TABLE "dispatch_queue"
  DROP CONSTRAINT "dispatch_queue_orchestrator_length",
  DROP CONSTRAINT "dispatch_queue_machine_length",
  DROP CONSTRAINT "dispatch_queue_dedupe_key_length",
  DROP CONSTRAINT "dispatch_queue_note_length",
  DROP CONSTRAINT "dispatch_queue_error_length",
  DROP CONSTRAINT "dispatch_queue_priority_range",
  DROP CONSTRAINT "dispatch_queue_attempts_range",
  DROP CONSTRAINT "dispatch_queue_max_attempts_range",
  DROP CONSTRAINT "dispatch_queue_progress_range",
  DROP CONSTRAINT "dispatch_queue_lease_range",
  DROP CONSTRAINT "dispatch_queue_claim_timeout_range",
  DROP CONSTRAINT "dispatch_queue_attempt_log_is_list",
  ALTER COLUMN "orchestrator_id" SET DATA TYPE "dispatch_orchestrator_id",
  ALTER COLUMN "priority" SET DATA TYPE "dispatch_priority",
  ALTER COLUMN "dedupe_key" SET DATA TYPE "dispatch_dedupe_key",
  ALTER COLUMN "attempts" SET DATA TYPE "dispatch_attempts",
  ALTER COLUMN "max_attempts" SET DATA TYPE "dispatch_max_attempts",
  ALTER COLUMN "claimed_by" SET DATA TYPE "dispatch_machine_id",
  ALTER COLUMN "claim_timeout_ms" SET DATA TYPE "dispatch_lease_ms",
  ALTER COLUMN "progress" SET DATA TYPE "dispatch_progress",
  ALTER COLUMN "progress_note" SET DATA TYPE "dispatch_progress_note",
  ALTER COLUMN "last_error" SET DATA TYPE "dispatch_error",
  ALTER COLUMN "attempt_log" SET DATA TYPE "dispatch_attempt_log",
  ALTER COLUMN "lease_ms" SET DATA TYPE "dispatch_lease_ms";--> statement-breakpoint
ALTER TABLE "machines"
  DROP CONSTRAINT "machines_orchestrator_length",
  DROP CONSTRAINT "machines_machine_length",
  ALTER COLUMN "orchestrator_id" SET DATA TYPE "dispatch_orchestrator_id",
  ALTER COLUMN "machine_id" SET DATA TYPE "dispatch_machine_id";--> statement-breakpoint
ALTER TABLE "dispatch_history"
  ALTER COLUMN "orchestrator_id" SET DATA TYPE "dispatch_orchestrator_id",
  ALTER COLUMN "priority" SET DATA TYPE "dispatch_priority",
  ALTER COLUMN "dedupe_key" SET DATA TYPE "dispatch_dedupe_key",
  ALTER COLUMN "attempts" SET DATA TYPE "dispatch_attempts",
  ALTER COLUMN "max_attempts" SET DATA TYPE "dispatch_max_attempts",
  ALTER COLUMN "claimed_by" SET DATA TYPE "dispatch_machine_id",
  ALTER COLUMN "claim_timeout_ms" SET DATA TYPE "dispatch_lease_ms",
  ALTER COLUMN "progress" SET DATA TYPE "dispatch_progress",
  ALTER COLUMN "progress_note" SET DATA TYPE "dispatch_progress_note",
  ALTER COLUMN "last_error" SET DATA TYPE "dispatch_error",
  ALTER COLUMN "attempt_log" SET DATA TYPE "dispatch_attempt_log";
