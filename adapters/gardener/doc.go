// Package gardener runs a driver of Gardener's machine controller as a provider.
//
// A driver identifies machines by name. It does not know the machine's UID, blocks until a call is complete,
// and stores nothing. So the adapter
//
//   - reads before it creates, with the driver's own status and listing, and creates an instance only
//     if both show none;
//   - runs calls that take minutes in the background, one at a time for each machine name, with a
//     deadline. During a call the instance is Pending or Stopping; the next caller gets the outcome;
//   - remembers for which machine it created an instance. Without that memory, only the UID of an
//     instance is unknown: names and recorded provider IDs identify it;
//   - converts the driver's codes to reactions, as the original's machine controller does.
//
// Package serve runs a driver as a machine controller.
package gardener
