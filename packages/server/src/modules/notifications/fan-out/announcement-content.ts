import type { Announcement } from '../../../platform/jobs/announce.ts'
import { clamp, oneLine } from '../kinds/clamp.ts'

const limits = { subject: 300, text: 8_000, data: 32_768 }

/** Limits and cleans the content: the text of other modules may contain anything, such as the last lines of a build. */
export function contentOf({ projectId = null, subject, text, data = {}, at }: Announcement) {
  const json = JSON.stringify(data)
  return {
    projectId,
    subject: clamp(oneLine(clean(subject)), limits.subject),
    text: clamp(clean(text), limits.text),
    data: json.length > limits.data ? '{}' : json,
    createdAt: at,
    sequence: nextSequence(at),
  }
}

let lastSequence = 0

/** Microseconds, strictly increasing. */
function nextSequence(at: number): number {
  lastSequence = Math.max(lastSequence + 1, at * 1000)
  return lastSequence
}

/** PostgreSQL text cannot contain NUL, and UTF-8 cannot contain a lone surrogate. */
const clean = (text: string) => text.replaceAll('\0', '').toWellFormed()
