/** An owner may be a path of groups. */
export interface RepositoryName {
  owner: string
  repo: string
}
