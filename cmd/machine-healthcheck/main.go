// Command machine-healthcheck looks after the health checks of machine.openshift.io.
package main

import "github.com/millwright-dev/millwright/internal/program"

func main() { program.Main(program.HealthCheck()) }
