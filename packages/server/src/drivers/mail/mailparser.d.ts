/** The parts of mailparser that the tests use; the package has no types. */
declare module 'mailparser' {
  interface Mailbox {
    text: string
    value: { name: string; address: string }[]
  }
  export interface ParsedMail {
    subject?: string
    from?: Mailbox
    to?: Mailbox
    text?: string
    html: string | false
    messageId?: string
    headers: Map<string, unknown>
    date?: Date
    attachments: { filename?: string; contentType: string; content: Buffer }[]
  }
  export function simpleParser(source: import('node:stream').Readable | Buffer | string): Promise<ParsedMail>
}
