// Package reference is a driver for OpenStack in the shape that drivers of others have: it knows machines by
// name and tags, keeps nothing between calls and logs in for each, polls until what it asked for is done, and
// says what went wrong by a code. It speaks to the double of OpenStack in dev/clouds, which adapters are tried
// against, and knows no more of OpenStack than that takes.
package reference
