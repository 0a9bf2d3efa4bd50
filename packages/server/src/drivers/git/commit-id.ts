/** Shortest accepted id; a shorter one is too often ambiguous. */
const shortestId = 7

export const isCommitId = (text: string): boolean => /^[0-9a-f]{7,64}$/i.test(text)

/** SHA-1 repositories have 40 digits, SHA-256 ones 64. */
export const isFullCommitId = (text: string): boolean => /^([0-9a-f]{40}|[0-9a-f]{64})$/i.test(text)

/** A short and a long id of one commit are equal. */
export function sameCommit(left: string | null | undefined, right: string | null | undefined): boolean {
  if (!left || !right || !isCommitId(left) || !isCommitId(right)) return false
  const length = Math.max(shortestId, Math.min(left.length, right.length))
  return left.slice(0, length).toLowerCase() === right.slice(0, length).toLowerCase()
}

/** git's own rules for a branch name, so that none can be read as an option, a range or a pattern. */
export function isBranchName(name: string): boolean {
  if (name === '' || name === '@' || name.length > 250 || name.startsWith('-')) return false
  if (/[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\//.test(name)) return false
  return name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.') && !part.endsWith('.lock'))
}
