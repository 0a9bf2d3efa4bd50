import { GitHostError } from './git-host-error.ts'

/** The largest file that is shown. Its base64 form must fit into one response of the host. */
export const maxFileBytes = 10 * 1024 * 1024

export function refuseLarge(path: string): never {
  throw new GitHostError('refused', `${path} is larger than ${maxFileBytes / 1024 / 1024} MB`)
}
