/** What the tests use of it; the package brings no types. */
declare module 'mailparser' {
  interface Mailbox {
    value: { name: string; address: string }[]
  }
  export interface ParsedMail {
    subject?: string
    from?: Mailbox
    to?: Mailbox
    text?: string
    html?: string | false
    messageId?: string
    headers: Map<string, unknown>
    attachments: unknown[]
  }
  export function simpleParser(source: Buffer | string): Promise<ParsedMail>
}
