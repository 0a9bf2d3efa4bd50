import { createPrivateKey, X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Secret } from '../../platform/secrets/secret.ts'
import { type Acme, type ChallengeBoard, OrderRefused } from './acme.ts'

/** Test environment that an implementation provides. */
export interface SuiteAuthority {
  acme: Acme
  /** Where the authority looks for challenge responses; `shown` has the published ones. */
  board: ChallengeBoard & { shown: ReadonlyMap<string, string> }
  /** A host name that the authority rejects. */
  refusedName(): string
  close(): Promise<void>
}

const neverAborted = new AbortController().signal

/** The contract of `acme.ts`. */
export function describeAcme(title: string, start: () => Promise<SuiteAuthority>): void {
  describe(title, () => {
    let scene: SuiteAuthority
    let key: Secret
    beforeAll(async () => {
      scene = await start()
      key = await scene.acme.newAccountKey()
    })
    afterAll(() => scene?.close())

    test('every account has a key of its own', async () => {
      expect((await scene.acme.newAccountKey()).reveal()).not.toBe(key.reveal())
    })

    test('an order returns a certificate with its key, and removes its challenges afterwards', async () => {
      const issued = await scene.acme.order('shop.example.test', key, scene.board, neverAborted)
      const leaf = new X509Certificate(issued.certificate)
      expect(leaf.checkPrivateKey(createPrivateKey(issued.privateKey.reveal()))).toBe(true)
      expect(issued.expiresAt.getTime()).toBeGreaterThan(Date.now())
      expect(scene.board.shown.size).toBe(0)
      const again = await scene.acme.order('blog.example.test', key, scene.board, neverAborted)
      expect(again.accountUrl).toBe(issued.accountUrl)
      expect(again.certificate).not.toBe(issued.certificate)
    })

    test('an order that the authority refuses is OrderRefused and leaves no challenge', async () => {
      await expect(scene.acme.order(scene.refusedName(), key, scene.board, neverAborted)).rejects.toBeInstanceOf(OrderRefused)
      expect(scene.board.shown.size).toBe(0)
    })

    test('an aborted order ends with the reason, before its start and during it', async () => {
      const enough = new Error('enough')
      await expect(scene.acme.order('a.example.test', key, scene.board, AbortSignal.abort(enough))).rejects.toBe(enough)
      const stop = new AbortController()
      const board: ChallengeBoard = {
        type: 'http-01',
        async show(...answer) {
          await scene.board.show(...answer)
          stop.abort(enough)
        },
        hide: (...answer) => scene.board.hide(...answer),
      }
      await expect(scene.acme.order('b.example.test', key, board, stop.signal)).rejects.toBe(enough)
    })
  })
}
