/** Said to the operator as it is. */
export class InstanceBackupRefused extends Error {
  override readonly name = 'InstanceBackupRefused'
}
