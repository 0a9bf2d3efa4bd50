/** The source of a deployment. */
export type Source =
  | { kind: 'git'; url: string; branch: string | null }
  | { kind: 'local'; path: string }
  | { kind: 'upload'; sessionId: string }
  | { kind: 'image' }
