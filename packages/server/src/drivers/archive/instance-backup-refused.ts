/** The message is shown to the operator. */
export class InstanceBackupRefused extends Error {
  override readonly name = 'InstanceBackupRefused'
}
