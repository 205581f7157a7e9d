// Command pause does nothing until it receives a signal. As the first process of a pod, it keeps the namespaces of the pod
// while containers start and end.
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
