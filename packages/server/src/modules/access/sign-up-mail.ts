import { type JobKind, job } from '../../platform/jobs/declare.ts'
import type { AccessDeps } from './deps.ts'
import { mailOf } from './mail-with-link.ts'
import { codeOf } from './mailed-code.ts'
import { findUserByEmail } from './store.ts'

interface SignUpMail {
  signUpId: string
}

export const signUpMailKind: JobKind<SignUpMail> = { kind: 'access.sign-up-mail' }

/** Sends sign-up mails in a job, so that the response time reveals nothing about the address. */
export const signUpMailJob = (deps: AccessDeps) =>
  job<SignUpMail, unknown>(signUpMailKind.kind, {
    deadlineMs: 60_000,
    maxAttempts: 8,
    concurrency: 4,
    run: async ({ signUpId }, _deps, abort) => {
      const { db } = deps.database
      const row = await db.selectFrom('signUps').selectAll().where('id', '=', signUpId).executeTakeFirst()
      if (!row || row.usedAt !== null || !deps.mailer) return
      const isKnown = (await findUserByEmail(db, row.email)) !== undefined
      const { subject, lines, link } = isKnown
        ? existingAccountMail(deps)
        : newAccountMail(linkTo(row, deps), row.invitedBy !== null)
      await deps.mailer.send({ ...mailOf({ subject, lines, link }), to: row.email, messageId: row.id }, abort)
    },
  })

const existingAccountMail = ({ publicUrl }: AccessDeps) => ({
  subject: 'You already have an account',
  lines: ['A sign-up was requested for this address, which already has an account. If it was you, sign in here:'],
  link: publicUrl(),
})

const newAccountMail = (link: string, isInvited: boolean) => ({
  subject: isInvited ? 'You are invited to sign up' : 'Finish signing up',
  lines: [
    isInvited
      ? 'You are invited to create an account and an organisation. The link works once, within one week:'
      : 'Create your account and your organisation with this link. It works once, within one day. If you did not request it, ignore this message:',
  ],
  link,
})

export const linkTo = (row: { id: string; email: string }, deps: Pick<AccessDeps, 'secretBox' | 'publicUrl'>): string =>
  `${deps.publicUrl()}/sign-up?code=${encodeURIComponent(codeOf(row, 'sign-up', deps))}&email=${encodeURIComponent(row.email)}`
