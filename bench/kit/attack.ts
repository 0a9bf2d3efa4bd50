import type { ApiAnswer } from '../../tests/kit/hosting.ts'

/** An attempt of an attacker. */
export interface Attack {
  name: string
  run(): Promise<void>
}

export interface Answer extends ApiAnswer {
  text: string
}
