import { createTransport } from 'nodemailer'
import { describe, expect, test } from 'vitest'
import { startMailServer } from './smtp-server.ts'

const mail = { from: 'berth@example.test', to: 'ann@example.test', subject: 'Grüße', text: 'Ünïcode • text' }

describe('the mail server of the kit', () => {
  test('keeps each mail, decoded, with its envelope', async () => {
    await using server = await startMailServer()
    const arrived = server.nextMail(({ subject }) => subject === 'Grüße')
    await createTransport(server.url).sendMail({ ...mail, bcc: 'hidden@example.test', html: '<b>hi</b>' })
    expect(await arrived).toMatchObject({
      subject: 'Grüße',
      recipients: ['ann@example.test', 'hidden@example.test'],
      html: '<b>hi</b>',
    })
    expect((await arrived).text?.trim()).toBe('Ünïcode • text')
  })

  test('with credentials refuses a wrong password', async () => {
    await using server = await startMailServer({ credentials: { user: 'u', password: 'p' } })
    const wrong = createTransport(server.url.replace('u:p@', 'u:x@')).sendMail(mail)
    await expect(wrong).rejects.toThrow(/wrong user or password/)
    await createTransport(server.url).sendMail(mail)
    expect(server.mails).toHaveLength(1)
  })

  test('refuses a recipient with the given reason', async () => {
    await using server = await startMailServer({
      refuse: (address) => (address.startsWith('ann') ? 'no such person' : undefined),
    })
    await expect(createTransport(server.url).sendMail(mail)).rejects.toThrow(/550 no such person/)
    expect(server.mails).toHaveLength(0)
  })

  test('times out if the expected mail does not arrive', async () => {
    await using server = await startMailServer()
    await expect(server.nextMail(() => true, 50)).rejects.toThrow()
  })
})
