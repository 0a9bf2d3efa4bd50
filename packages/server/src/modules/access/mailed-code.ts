import type { AccessDeps } from './deps.ts'

/** The purpose of a code; a code of another purpose is invalid. */
export type CodePurpose = 'sign-up' | 'invitation' | 'password-reset'

/** The fields of a row that its code signs. */
type SignedRow = { id: string; email: string }

/** The code `id.signature`, derived from the row: the database contains no code, and a mail that is sent later has the same one. */
export const codeOf = (row: SignedRow, purpose: CodePurpose, { secretBox }: Pick<AccessDeps, 'secretBox'>): string =>
  `${row.id}.${secretBox.sign(messageOf(row), purpose)}`

export const isCodeOf = (
  row: SignedRow,
  code: string,
  purpose: CodePurpose,
  { secretBox }: Pick<AccessDeps, 'secretBox'>,
): boolean => secretBox.isSigned(code.slice(code.indexOf('.') + 1), messageOf(row), purpose)

/** The row id in a code. */
export const idIn = (code: string): string => code.split('.', 1)[0] as string

const messageOf = ({ id, email }: SignedRow) => JSON.stringify([id, email])
