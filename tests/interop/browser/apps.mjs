export async function apps() {}
