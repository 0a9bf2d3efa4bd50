export interface EdgeAddress {
  host: string
  port: number
}

/** Where the edge really listens; ports that were asked for as 0 are known here. */
export interface EdgeListening {
  http: EdgeAddress
  https: EdgeAddress | null
}
