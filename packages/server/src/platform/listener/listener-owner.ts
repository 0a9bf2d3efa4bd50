/**
 * The only owner that may listen at an instance's address: once a program has exited, any other program can bind its port. The
 * owner is the instance's dedicated user or, without one, the launched process and its descendants. Absent where it cannot be
 * determined (not Linux).
 */
export type ListenerOwner = { uid: number; orRoot?: true } | { pid: number; startTime: string }

export interface ListenerAddress {
  host: string
  port: number
}
