/** The last part of a repository's address, without `.git`. */
export const nameOfAddress = (url: string): string =>
  url
    .replace(/\/+$/, '')
    .split(/[/:]/)
    .at(-1)
    ?.replace(/\.git$/, '') || 'project'
