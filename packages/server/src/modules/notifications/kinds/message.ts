import { type CategoryId, categories } from '@berth/contract'

/** The content of one delivery. */
export interface Message {
  /** `ndl_…`: the same at every attempt, so that receivers can detect duplicates. */
  id: string
  /** `test`: a user tests a channel. */
  category: CategoryId | 'test'
  organizationId: string
  organizationName?: string
  projectId?: string
  projectName?: string
  subject: string
  text: string
  data: Record<string, unknown>
  createdAt: string
  /** Dashboard page of the event. */
  url?: string
  /** Dashboard page for notification settings. */
  settingsUrl?: string
  /** Set by joinMessages: the messages in this digest. */
  joined?: readonly Message[]
}

/** Maximum number of digest entries in the text; a webhook still gets all of them as data. */
const maxWrittenEntries = 50

/**
 * Joins messages of one category to one channel into a digest. It keeps the first message's id, so the group must be the same at
 * every attempt.
 */
export function joinMessages(messages: readonly Message[]): Message {
  const [first] = messages
  if (!first) throw new Error('there is nothing to join')
  if (messages.length === 1) return first
  if (messages.some(({ category, organizationId }) => category !== first.category || organizationId !== first.organizationId)) {
    throw new Error('only messages of one category and one organisation can be joined')
  }
  const { projectId, projectName, url, ...common } = first
  const oneProject = messages.every((message) => message.projectId === projectId)
  return {
    ...common,
    ...(oneProject ? { projectId, projectName, url } : {}),
    subject: joinedSubject(messages),
    text: joinedText(messages),
    data: { count: messages.length, messages: messages.map(asData) },
    joined: messages,
  }
}

export const categoryLabel = (id: Message['category']): string =>
  categories.find((category) => category.id === id)?.label ?? 'Test message'

/** The entries to print, and the number of omitted ones. */
export function entriesOf(message: Message): { entries: readonly Message[]; more: number } {
  const all = message.joined ?? [message]
  return { entries: all.slice(0, maxWrittenEntries), more: Math.max(0, all.length - maxWrittenEntries) }
}

/** `project · organisation`, as far as known. */
export function ownerText({ projectName, organizationName }: Message): string {
  return [projectName, organizationName].filter(Boolean).join(' · ')
}

function joinedSubject(messages: readonly Message[]): string {
  const subject = messages[0]!.subject
  const isSameSubject = messages.every((message) => message.subject === subject)
  return isSameSubject ? `${subject} (${messages.length} times)` : `${subject}, and ${messages.length - 1} more`
}

function joinedText(messages: readonly Message[]): string {
  const lines = messages.slice(0, maxWrittenEntries).map(({ subject, text }) => `• ${subject}\n${text}`.trimEnd())
  const more = messages.length - lines.length
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n\n')
}

const asData = ({ id, projectId, subject, text, data, createdAt }: Message) => ({ id, projectId, subject, text, data, createdAt })
