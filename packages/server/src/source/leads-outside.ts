/** Whether a normalized path leads out of the folder that it is relative to. `..data` is an ordinary name in the folder. */
export const leadsOutside = (path: string): boolean => path === '..' || path.startsWith('../') || path.startsWith('/')
