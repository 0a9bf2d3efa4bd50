/** Errors that say that the database could not be reached, not that a statement was refused. */
const unavailable = new WeakSet<object>()

/** SQLSTATEs of a server that shuts down, starts, or has lost the connection, and errors of sockets and name look-ups. */
const codes = /^(08...|57P0[1-4]|ECONN(RESET|REFUSED|ABORTED)|EPIPE|ETIMEDOUT|E(HOST|NET)UNREACH|ENOTFOUND|EAI_AGAIN)$/
/** Errors of the driver about its connection; they have no code. */
const messages = /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect)/

/** Notes an error of the PostgreSQL driver. */
export function noteUnavailable<Reason>(error: Reason): Reason {
  if (typeof error !== 'object' || error === null) return error
  const { message, code } = error as { message?: unknown; code?: unknown }
  if (codes.test(String(code)) || messages.test(String(message))) unavailable.add(error)
  return error
}

/**
 * The database could not be reached. The work is neither done nor refused: a job is run again, and the attempt is not counted. Always
 * false on SQLite.
 */
export const isDatabaseUnavailable = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && unavailable.has(error)
