/** What a deployment is made from, as it was when it was asked for. */
export type DeployedSource =
  | { kind: 'git'; url: string; branch: string | null; commit: string | null }
  | { kind: 'local'; path: string }
  | { kind: 'upload'; sessionId: string }
  | { kind: 'image' }
