import { expect, test } from 'vitest'
import { startSmtpServer } from '../../../drivers/mail/test-smtp-server.ts'
import { startReceiver } from '../../../drivers/web-request/test-receiver.ts'
import { ConfigError } from '../../../platform/config-error.ts'
import { Secret } from '../../../platform/secrets/secret.ts'
import { createDeliveryDrivers } from './delivery-drivers.ts'

const mail = { to: 'ada@example.test', subject: 'Hello', text: 'Hello', html: '<p>Hello</p>', messageId: 'ndl_x' }
const settings = { allowPrivateWebhooks: false, smtpUrl: null }

test('with BERTH_SMTP_URL mail is sent through it', async () => {
  await using smtp = await startSmtpServer()
  const { mailer } = createDeliveryDrivers({ ...settings, smtpUrl: new Secret(`smtp://127.0.0.1:${smtp.port}`) })
  expect(mailer.configured).toBe(true)
  await mailer.send(mail)
  await mailer.send({ ...mail, messageId: 'ndl_y' })
  expect(smtp.mails.map(({ to }) => to)).toEqual([['ada@example.test'], ['ada@example.test']])
})

test('without BERTH_SMTP_URL no mail is sent, and the reason names the setting', async () => {
  const { mailer } = createDeliveryDrivers(settings)
  expect(mailer.configured).toBe(false)
  await expect(mailer.send(mail)).rejects.toThrow('BERTH_SMTP_URL')
})

test('an invalid BERTH_SMTP_URL stops the start with one line that names the variable without its value', () => {
  const start = () => createDeliveryDrivers({ ...settings, smtpUrl: new Secret('smtp://ada:canary@mail.test?from=invalid') })
  expect(start).toThrow(ConfigError)
  expect(start).toThrow(/^BERTH_SMTP_URL is invalid: it must be smtp:[^\n]*$/)
  expect(start).not.toThrow(/canary/)
})

test('private addresses are allowed only with BERTH_ALLOW_PRIVATE_WEBHOOKS', async () => {
  await using receiver = await startReceiver()
  const send = (allowPrivateWebhooks: boolean) =>
    createDeliveryDrivers({ ...settings, allowPrivateWebhooks }).webRequest.send({ url: receiver.url, method: 'POST' })
  await expect(send(false)).rejects.toThrow('private or reserved network')
  expect(await send(true)).toMatchObject({ status: 200 })
})
