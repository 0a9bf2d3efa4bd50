import { fail } from '../../platform/failure.ts'
import { job, sharedKind } from '../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../platform/transaction.ts'
import type { AccessDeps } from './deps.ts'
import { mailOf } from './mail-with-link.ts'
import { codeOf } from './mailed-code.ts'
import { findUser } from './store.ts'

interface InvitationMail {
  invitationId: string
}

const invitationMailKind = sharedKind<InvitationMail>('access.invitation-mail')

const hour = 3_600_000
const day = 24 * hour
/** Limit that keeps a caller from flooding another person's mailbox. */
const maxPerMailbox = { count: 5, withinMs: hour }
const maxPerOrganization = { count: 100, withinMs: day }

export interface Invited {
  id: string
  organizationId: string
  email: string
}

export const invitationLink = (row: Invited, deps: Pick<AccessDeps, 'secretBox' | 'publicUrl'>): string =>
  `${deps.publicUrl()}/invitations/${codeOf(row, 'invitation', deps)}?email=${encodeURIComponent(row.email)}`

/** Enqueues the mail with the code in the caller's transaction. 429 when the mailbox or the organisation had too many. */
export async function mailInvitation(
  { db, enqueue, lock }: Pick<TransactionContext, 'db' | 'enqueue' | 'lock'>,
  { id, organizationId, email }: Invited,
  now: number,
): Promise<void> {
  // Serialized, so that concurrent invitations are all counted.
  await lock('invitation-mails')
  await db
    .deleteFrom('invitationMails')
    .where('createdAt', '<', now - day)
    .execute()
  const since = (withinMs: number) =>
    db
      .selectFrom('invitationMails')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('createdAt', '>', now - withinMs)
  const refuseMore = async (query: ReturnType<typeof since>, { count, withinMs }: typeof maxPerMailbox, recipient: string) => {
    const { count: sent } = await query.executeTakeFirstOrThrow()
    if (Number(sent) >= count)
      fail('rate_limited', {
        retryAfterSeconds: withinMs / 1000,
        message: `${recipient} ${count} invitations within ${withinMs / hour} h. Try again later.`,
      })
  }
  await refuseMore(since(maxPerMailbox.withinMs).where('email', '=', email), maxPerMailbox, 'This e-mail address was sent')
  const organizationInvitations = since(maxPerOrganization.withinMs).where('organizationId', '=', organizationId)
  await refuseMore(organizationInvitations, maxPerOrganization, 'This organisation has sent')
  await db.insertInto('invitationMails').values({ invitationId: id, organizationId, email, createdAt: now }).execute()
  await enqueue(invitationMailKind.of({ organizationId }), { invitationId: id })
}

/** Sends nothing for an invitation that was withdrawn or used. */
export const invitationMailJob = (deps: AccessDeps) =>
  job<InvitationMail, unknown>(invitationMailKind, {
    deadlineMs: 60_000,
    maxAttempts: 8,
    concurrency: 4,
    run: async ({ invitationId }, _deps, abort) => {
      const { db } = deps.database
      const row = await db.selectFrom('invitations').selectAll().where('id', '=', invitationId).executeTakeFirst()
      if (!row || !deps.mailer) return
      const inviter = row.invitedBy ? await findUser(db, row.invitedBy) : undefined
      // Without the organisation's name: its owner could put arbitrary text into a mail to a stranger.
      const lines = [
        `${inviter?.email ?? 'A user'} invites you to join an organisation. The link works once, within one week, for this address only:`,
      ]
      const mail = mailOf({ subject: 'You are invited to join an organisation', lines, link: invitationLink(row, deps) })
      await deps.mailer.send({ ...mail, to: row.email, messageId: row.id }, abort)
    },
  })
