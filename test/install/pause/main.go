// Command pause does nothing until it is told to end. It is what holds the namespaces of a pod while the containers of that come
// and go, as the first process of each.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "--programs" {
		return // it is no program but itself, see hack/image
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
}
