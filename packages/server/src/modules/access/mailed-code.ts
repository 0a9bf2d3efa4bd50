import type { AccessDeps } from './deps.ts'

/** What a code is for: one of another purpose is not good. */
export type CodePurpose = 'sign-up' | 'invitation'
type Coded = { id: string; email: string }

/** `id.signature`: made of the row, so that a reader of the database has no code, and a mail that is sent later has the same one. */
export const codeOf = (row: Coded, purpose: CodePurpose, { secretBox }: Pick<AccessDeps, 'secretBox'>): string =>
  `${row.id}.${secretBox.sign(messageOf(row), purpose)}`

export const isCodeOf = (row: Coded, code: string, purpose: CodePurpose, { secretBox }: Pick<AccessDeps, 'secretBox'>): boolean =>
  secretBox.isSigned(code.slice(code.indexOf('.') + 1), messageOf(row), purpose)

/** The row that a code names. */
export const idIn = (code: string): string => code.split('.', 1)[0] as string

const messageOf = ({ id, email }: Coded) => JSON.stringify([id, email])
