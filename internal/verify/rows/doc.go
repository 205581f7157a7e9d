// Package rows holds the pages that say which test keeps which row of the notes on the originals: each row of the notes is on its page, each test
// that a page names is there, and each difference is a line of docs/compatibility.md. It reads sources and runs nothing.
package rows
