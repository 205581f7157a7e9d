// Package gardener runs a driver of Gardener's machine controller as a provider.
//
// A driver is asked for machines by name. It does not know the machine's UID, blocks until what it
// was asked for is done, and keeps nothing. So the adapter
//
//   - looks before it creates, by the driver's own status and listing, and asks for an instance only
//     when both say that there is none;
//   - lets calls that take minutes run beside the workers, one at a time for each machine's name,
//     with a deadline. What is under way is found as Pending or Stopping, and what came of it is
//     told to whoever asks next;
//   - remembers for which machine it made what. Losing that costs nothing but the UID on an
//     instance: names and recorded provider IDs lead back to it;
//   - reads the driver's codes as reactions, each as the original's machine controller does.
//
// Program serve makes a machine controller of it.
package gardener
