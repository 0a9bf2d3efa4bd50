import { hostname } from 'node:os'
import { describe, expect, test } from 'vitest'
import { parseSmtpUrl, SmtpUrlInvalid } from './smtp-url.ts'

describe('BERTH_SMTP_URL', () => {
  test.each([
    ['smtp://mail.example.com', { port: 587, secure: false, requireTls: true, verifyCertificate: true, login: undefined }],
    ['smtps://mail.example.com', { port: 465, secure: true, requireTls: false, verifyCertificate: true }],
    ['smtp://mail.example.com:2525', { port: 2525 }],
    ['smtp://relay:25?tls=optional', { host: 'relay', port: 25, requireTls: false, verifyCertificate: true }],
    ['smtp://localhost:1025', { requireTls: false, verifyCertificate: false }],
    ['smtp://127.0.0.1:1025', { requireTls: false, verifyCertificate: false }],
    ['smtp://[::1]:1025', { host: '::1', requireTls: false, verifyCertificate: false }],
    ['smtp://127.evil.example', { requireTls: true, verifyCertificate: true }],
    ['smtp://u%40x.org:p%2Fw%3A%25@mail.example.com', { login: { user: 'u@x.org', pass: 'p/w:%' } }],
    ['smtps://10.0.0.5?servername=mail.example.com', { servername: 'mail.example.com' }],
  ])('%s', (url, settings) => expect(parseSmtpUrl(url)).toMatchObject(settings))

  test.each([
    ['smtp://mail.example.com', undefined, { name: 'Berth', address: 'berth@mail.example.com' }],
    ['smtp://localhost', undefined, { name: 'Berth', address: `berth@${hostname()}` }],
    ['smtp://me%40example.org:x@mail.example.com', undefined, { name: 'Berth', address: 'me@example.org' }],
    ['smtp://mail.example.com?from=ops%40example.org', undefined, { name: 'Berth', address: 'ops@example.org' }],
    [
      'smtp://mail.example.com?from=ops%40example.org',
      'Ops team <a@example.org>',
      { name: 'Ops team', address: 'a@example.org' },
    ],
  ])('the sender of %s with %s', (url, from, sender) => expect(parseSmtpUrl(url, from).from).toEqual(sender))

  test.each(['', 'mail.example.com', 'https://mail.example.com', 'smtp://', 'smtp://u:%zz-canary@h', 'smtp://h?from=canary'])(
    '%s is refused with an error that does not contain it',
    (url) => {
      expect(() => parseSmtpUrl(url)).toThrow(SmtpUrlInvalid)
      expect(() => parseSmtpUrl(url)).not.toThrow(/canary/)
    },
  )
})
