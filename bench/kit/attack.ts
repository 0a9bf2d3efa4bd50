import type { ApiAnswer } from '../../tests/kit/hosting.ts'

/** One thing that somebody tries. */
export interface Attack {
  name: string
  run(): Promise<void>
}

export interface Answer extends ApiAnswer {
  text: string
}
