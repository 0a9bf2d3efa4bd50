import type { ChosenSource } from './source.ts'

export interface ChooserProps {
  onChosen(source: ChosenSource): void
  onError(error: unknown): void
}
