/** The settings of a deployment that are compared later. */
export interface DeployedSettings {
  /** null: the deployment is from before this was recorded. */
  configHash: string | null
  resourcesHash: string | null
  /** Hash of the project's source, or of the deployed upload. */
  sourceHash: string | null
  /** null: not recorded, or an environment other than production. */
  envVersion: number | null
}
