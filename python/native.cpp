#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "cli/commands.h"
#include "python/ask_command.h"

namespace py = pybind11;

PYBIND11_MODULE(_native, module) {
  using plimsoll::AskedCommand;
  module.doc() = "The commands of the program plimsoll; see plimsoll/__init__.py for what to call.";
  module.attr("version") = plimsoll::version();
  const auto of_error = [](std::string plimsoll::Error::* part) {
    return [part](const AskedCommand& asked) { return asked.error ? (*asked.error).*part : std::string(); };
  };
  py::class_<AskedCommand>(module, "AskedCommand")
      .def_readonly("json", &AskedCommand::json)
      .def_readonly("said", &AskedCommand::said)
      .def_readonly("exit_code", &AskedCommand::exit_code)
      .def_property_readonly("failed", [](const AskedCommand& asked) { return asked.error.has_value(); })
      .def_property_readonly("kind", &plimsoll::kind_of)
      .def_property_readonly("what", of_error(&plimsoll::Error::what))
      .def_property_readonly("where", of_error(&plimsoll::Error::where))
      .def_property_readonly("remedy", of_error(&plimsoll::Error::remedy));
  py::class_<plimsoll::CommandOption>(module, "CommandOption")
      .def_readonly("name", &plimsoll::CommandOption::name)
      .def_readonly("flag", &plimsoll::CommandOption::flag)
      .def_readonly("many", &plimsoll::CommandOption::many)
      .def_readonly("help", &plimsoll::CommandOption::help);
  module.def("ask_command", &plimsoll::ask_command, py::arg("name"), py::arg("subjects"), py::arg("keywords"),
             py::call_guard<py::gil_scoped_release>());
  module.def("command_options", &plimsoll::command_options, py::arg("name"));
}
