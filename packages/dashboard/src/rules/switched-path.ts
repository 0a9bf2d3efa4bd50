/** The path of the same page in another project. A single deployment belongs to one project: its list is opened instead. */
export function switchedPath(path: string, projectId: string): string {
  const page = /^\/projects\/[^/]+\/([^/]+)/.exec(path)?.[1]
  return page ? `/projects/${projectId}/${page}` : `/projects/${projectId}`
}
