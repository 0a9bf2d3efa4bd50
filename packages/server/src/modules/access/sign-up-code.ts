import type { AccessDeps } from './deps.ts'

const purpose = 'sign-up'
type SignUp = { id: string; email: string }

/** `id.signature`: made of the row, so that whoever reads the database has no code. */
export const codeOf = (row: SignUp, { secretBox }: Pick<AccessDeps, 'secretBox'>): string =>
  `${row.id}.${secretBox.sign(messageOf(row), purpose)}`

export const isCodeOf = (row: SignUp, code: string, { secretBox }: Pick<AccessDeps, 'secretBox'>): boolean =>
  secretBox.isSigned(code.slice(code.indexOf('.') + 1), messageOf(row), purpose)

export const linkTo = (row: SignUp, deps: Pick<AccessDeps, 'secretBox' | 'publicUrl'>): string =>
  `${deps.publicUrl()}/sign-up?code=${encodeURIComponent(codeOf(row, deps))}&email=${encodeURIComponent(row.email)}`

const messageOf = ({ id, email }: SignUp) => JSON.stringify([id, email])
