import { Pool, type PoolClient } from 'pg'
import { type Contestant, drainBy, loadBy, payload, type Ways } from './contestant'

const READ = `WITH next AS (
  SELECT msg_id FROM messages WHERE vt <= clock_timestamp() ORDER BY msg_id LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE messages SET vt = clock_timestamp() + interval '30 minutes', read_ct = read_ct + 1
  FROM next WHERE messages.msg_id = next.msg_id
RETURNING messages.msg_id, read_ct, enqueued_at, vt, message`

const ARCHIVE = `WITH archived AS (
  DELETE FROM messages WHERE msg_id = ANY ($1) RETURNING msg_id, vt, read_ct, enqueued_at, message
)
INSERT INTO archive (msg_id, vt, read_ct, enqueued_at, message) SELECT * FROM archived RETURNING msg_id`

/**
 * pgmq's way of working, written after its documentation, since it is an extension and none of npm's packages carries its SQL: a
 * visibility timeout set by `FOR UPDATE SKIP LOCKED`, and an archive table.
 */
export function pgmq(url: string, poolSize: number): Contestant {
  const pool = new Pool({ connectionString: url, max: poolSize })

  const ways: Ways<{ msg_id: string }> = {
    take: async (batch) => (await pool.query({ name: 'read', text: READ, values: [batch] })).rows,
    finish: async (rows) => {
      const values = [rows.map(({ msg_id }) => msg_id)]
      return (await pool.query({ name: 'archive', text: ARCHIVE, values })).rowCount ?? 0
    },
  }

  return {
    setUp: async () => {
      const columns = `read_ct integer NOT NULL DEFAULT 0, enqueued_at timestamptz NOT NULL DEFAULT now(), vt timestamptz NOT NULL, message jsonb`
      await pool.query(
        `CREATE TABLE messages (msg_id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, ${columns});
         CREATE INDEX ON messages (vt);
         CREATE TABLE archive (msg_id bigint PRIMARY KEY, ${columns}, archived_at timestamptz NOT NULL DEFAULT now());
         CREATE INDEX ON archive (archived_at)`,
      )
    },
    enqueue: async (count, batch) => {
      const text = `INSERT INTO messages (vt, message) SELECT clock_timestamp(), unnest($1::jsonb[]) RETURNING msg_id`
      for (let done = 0; done < count; done += batch) {
        const messages = Array.from({ length: Math.min(batch, count - done) }, () => JSON.stringify(payload))
        await pool.query({ name: 'send', text, values: [messages] })
      }
    },
    drain: (drain) => drainBy(ways, drain),
    load: (load) => loadBy(ways, load),
    close: () => pool.end(),
  }
}

/** The transaction that the essay rejects: the row is locked by SELECT … FOR UPDATE while it is worked on, and a connection held. */
export function selectForUpdate(url: string, poolSize: number): Contestant {
  const pool = new Pool({ connectionString: url, max: poolSize })

  // The transaction is the claim and the finish: there is nothing to be done after it.
  const ways: Ways<unknown> = {
    take: async (batch) => {
      const client = await pool.connect()
      try {
        return await inTransaction(client, batch)
      } finally {
        client.release()
      }
    },
    finish: async (rows) => rows.length,
  }

  return {
    setUp: async () => {
      await pool.query(
        `CREATE TABLE work (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, payload jsonb NOT NULL, claimed_at timestamptz, finished_at timestamptz);
         CREATE INDEX ON work (id) WHERE finished_at IS NULL`,
      )
    },
    enqueue: async (count, batch) => {
      const text = 'INSERT INTO work (payload) SELECT unnest($1::jsonb[]) RETURNING id'
      for (let done = 0; done < count; done += batch) {
        const payloads = Array.from({ length: Math.min(batch, count - done) }, () => JSON.stringify(payload))
        await pool.query({ name: 'send', text, values: [payloads] })
      }
    },
    drain: (drain) => drainBy(ways, drain),
    load: (load) => loadBy(ways, load),
    close: () => pool.end(),
  }
}

async function inTransaction(client: PoolClient, batch: number): Promise<readonly unknown[]> {
  await client.query('BEGIN')
  const { rows } = await client.query({
    name: 'lock',
    text: 'SELECT * FROM work WHERE finished_at IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED',
    values: [batch],
  })
  if (rows.length > 0) {
    await client.query({
      name: 'finish',
      text: 'UPDATE work SET finished_at = now() WHERE id = ANY ($1)',
      values: [rows.map(({ id }) => id)],
    })
  }
  await client.query('COMMIT')
  return rows
}
