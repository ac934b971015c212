/** What a viewer sees in place of a page for admins. */
export function OnlyForAdmins() {
  return (
    <main>
      <h1 className="text-xl font-semibold tracking-tight">For admins</h1>
      <p className="mt-2 text-muted">
        You are signed in with a viewer’s key, which sees work and machines. This page needs an admin’s.
      </p>
    </main>
  )
}
