// The parts that the kit uses of packages that come without types.

declare module 'smtp-server' {
  import type { EventEmitter } from 'node:events'
  import type { Readable } from 'node:stream'

  type Done = (error?: Error | null, answer?: { user: string }) => void
  export interface Session {
    user?: string
    envelope: { mailFrom: { address: string } | false; rcptTo: { address: string }[] }
  }
  export interface SMTPServerOptions {
    authOptional?: boolean
    disabledCommands?: string[]
    allowInsecureAuth?: boolean
    hideSTARTTLS?: boolean
    logger?: boolean
    size?: number
    closeTimeout?: number
    onAuth?(auth: { username?: string; password?: string }, session: Session, done: Done): void
    onRcptTo?(address: { address: string }, session: Session, done: Done): void
    onData?(stream: Readable, session: Session, done: Done): void
  }
  export class SMTPServer extends EventEmitter {
    constructor(options: SMTPServerOptions)
    readonly server: import('node:net').Server
    listen(port: number, host: string, ready: () => void): void
    close(done: () => void): void
  }
}

declare module 'mailparser' {
  import type { Readable } from 'node:stream'

  interface Addresses {
    text: string
    value: { address?: string; name: string }[]
  }
  export interface ParsedMail {
    subject?: string
    text?: string
    html: string | false
    from?: Addresses
    to?: Addresses | Addresses[]
    messageId?: string
    date?: Date
    headers: Map<string, unknown>
    attachments: { filename?: string; contentType: string; content: Buffer }[]
  }
  export function simpleParser(source: Readable | Buffer | string): Promise<ParsedMail>
}
