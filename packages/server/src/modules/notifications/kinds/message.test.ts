import { describe, expect, test } from 'vitest'
import { joinMessages } from './message.ts'
import { exampleMessage } from './test-delivery.ts'

describe('deliveries of one category to one channel are joined into one', () => {
  const many = (count: number, change: (at: number) => object = (at) => ({ subject: `Deployment ${at} failed` })) =>
    Array.from({ length: count }, (_, at) => exampleMessage({ id: `ndl_${at}`, ...change(at) }))

  test('the data contains each event with its own id', () => {
    const joined = joinMessages(many(1_000))
    expect(joined.data).toMatchObject({ count: 1_000 })
    const { messages } = joined.data as { messages: { id: string; data: unknown }[] }
    expect(messages.map(({ id }) => id)).toEqual(many(1_000).map(({ id }) => id))
    expect(messages[7]?.data).toEqual({ deploymentId: 'dep_1', number: 12 })
  })

  test('the subject has the number, the text names the first fifty', () => {
    const joined = joinMessages(many(60))
    expect(joined.subject).toBe('Deployment 0 failed, and 59 more')
    expect(joined.text).toContain('• Deployment 49 failed')
    expect(joined.text).not.toContain('Deployment 50 failed')
    expect(joined.text).toMatch(/… and 10 more$/)
  })

  test('repeated warnings are reported once with their number', () => {
    expect(joinMessages(many(12, () => ({}))).subject).toBe('Deployment 12 of shop failed (12 times)')
  })

  test('the id is that of the first event, so that every attempt has the same', () => {
    expect(joinMessages(many(11)).id).toBe('ndl_0')
  })

  test('the project is kept if it is the same for all events, otherwise it is null', () => {
    expect(joinMessages(many(11))).toMatchObject({ projectId: 'prj_1', projectName: 'shop' })
    const mixed = joinMessages(many(11, (at) => ({ projectId: `prj_${at}` })))
    expect([mixed.projectId, mixed.projectName, mixed.url]).toEqual([undefined, undefined, undefined])
    expect(mixed.organizationName).toBe('Harbour & Sons')
  })

  test('a single delivery is unchanged; no deliveries or different categories are an error', () => {
    expect(joinMessages([exampleMessage()])).toEqual(exampleMessage())
    expect(() => joinMessages([])).toThrow()
    expect(() => joinMessages([exampleMessage(), exampleMessage({ category: 'backup.failed' })])).toThrow(/one category/)
    expect(() => joinMessages([exampleMessage(), exampleMessage({ organizationId: 'org_2' })])).toThrow(/one organisation/)
  })
})
