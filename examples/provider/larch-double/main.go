// Command larch-double plays Larch at an address, 127.0.0.1:8099 unless told otherwise. It opens to the token "secret".
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	"example.org/larch/double"
)

func main() {
	address := "127.0.0.1:8099"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	cloud := double.New(time.Now)
	cloud.Lagging = 5 * time.Second
	log.Fatal(http.ListenAndServe(address, cloud))
}
