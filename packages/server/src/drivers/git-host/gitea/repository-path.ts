import type { RepositoryName } from '../repository-name.ts'

export const repositoryPath = ({ owner, repo }: RepositoryName): string =>
  `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}`
