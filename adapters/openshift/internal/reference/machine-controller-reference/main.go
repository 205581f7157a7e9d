// Command machine-controller-reference serves the reference actuator.
package main

import (
	"net/http"
	"time"

	"github.com/millwright-dev/millwright/adapters/openshift"
	"github.com/millwright-dev/millwright/adapters/openshift/internal/reference"
	"github.com/millwright-dev/millwright/adapters/openshift/serve"
)

func main() {
	serve.New(func(e serve.Env) (openshift.Actuator, error) {
		return &reference.Actuator{Client: e.Client, HTTP: http.DefaultClient, Habits: reference.Habits{Poll: time.Second}}, nil
	}, serve.Name("reference"))
}
