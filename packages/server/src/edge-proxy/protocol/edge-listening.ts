export interface EdgeAddress {
  host: string
  port: number
}

/** The addresses that the edge listens on; a configured port of 0 is replaced by the real port. */
export interface EdgeListening {
  http: EdgeAddress
  https: EdgeAddress | null
}
