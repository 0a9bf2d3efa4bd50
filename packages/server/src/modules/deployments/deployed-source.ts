/** What a deployment is made from, as it was when it was asked for. */
export type DeployedSource =
  | {
      kind: 'git'
      url: string
      branch: string | null
      commit: string | null
      /** Where the commit is, if no branch of the repository has it: a fork's pull request. */
      ref?: string
      /** A stranger wrote it: the repository's credential opens this repository and nothing else that it names. */
      fromFork?: true
    }
  | { kind: 'local'; path: string }
  | { kind: 'upload'; sessionId: string }
  | { kind: 'image' }
