/** The settings that a deployment was made with, as far as they are compared later. */
export interface DeployedSettings {
  /** null: made before it was recorded. */
  configHash: string | null
  resourcesHash: string | null
  /** The project's source, or the upload of it that was deployed. */
  sourceHash: string | null
  /** null: also of an environment other than production. */
  envVersion: number | null
}
